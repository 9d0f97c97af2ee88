"""What is remembered of a clip or a camera.

- ``keyframes``: thumbnails spread evenly over all that was seen, within a bound of bytes.
- ``cuboids``, ``silhouettes``: where things are and how large, from the boxes that frame them in several pictures.
"""
