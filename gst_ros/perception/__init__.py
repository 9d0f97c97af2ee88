"""What is in a frame.

- ``red_box``: the hollow red rectangle that marks an object in a video; ``unmarking``: the frame without it.
"""
