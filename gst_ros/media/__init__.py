"""Pictures in: video files and folders of images as time-stamped frames, and their playback.

- ``frames``: a time-stamped frame, and the fingerprint of a sequence of stamps.
- ``clip``: what a video and a folder of images have in common; ``open_clip`` opens either.
- ``video``: video files of any length in constant memory (PyAV); ``stamps`` makes their stamps strictly increasing.
- ``folder``: a folder of images as a clip.
- ``images``: single images, decoded by content and encoded as JPEG.
- ``calibration``: the camera's intrinsics, from settings or from a file beside the clip.
- ``readahead``: decodes the next few frames in a thread.
- ``playback``: when which frame is sent (pure: no thread, no ROS, no clock); ``player`` runs it in a thread.
"""
