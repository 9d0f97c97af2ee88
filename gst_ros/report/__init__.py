"""A run as one HTML page, to be read by people: ``gst report RUN``.

- ``judged``: every record of a run with its score, true answer, verdict and step.
- ``statistics``: scores by scene and by confidence, and where points are lost.
- ``pictures``: the questions' images, found, shrunk and bounded.
- ``cards``: one question as the page shows it.
- ``page``: all of it put into the templates in ``data/``, which draw the figures as SVG.

Nothing that comes from a run or a question set is trusted: the templates escape all of it.
"""
