"""What is remembered of a clip or a camera.

- ``keyframes``: thumbnails spread evenly over all that was seen, within a bound of bytes.
- ``walks``: frames in, a map of the walk out, with the marks that were seen; ``online``: the same beside a camera and
  questions; ``replays``: videos of a walk that was mapped before; ``waiting``: frames that wait to be
  mapped; ``walk_settings``.
- ``cuboids``, ``silhouettes``: where things are and how large, from the boxes that frame them in several pictures.
"""
