"""What is remembered of a clip or a camera.

- ``keyframes``: thumbnails spread evenly over all that was seen, within a bound of bytes.
"""
