"""From what is remembered to an answer; the same code with ROS and without.

- ``engine``: the memory and its answerer behind one door (observe, answer, reset, status).
- ``answerer``: what every answerer takes and gives.
- ``random_guess``, ``scripted``: one module per way of answering.
- ``memory_answers``: answers from the map of the walk (``memory_settings``); ``scene``: what was found out
  about one walk.
- ``free_questions``: questions in people's own words, as far as the map can answer them.
- ``registry``: answerers by name.
- ``paths``, ``drawn_paths``, ``path_places``: paths drawn on plans, and which of them was walked.
"""
