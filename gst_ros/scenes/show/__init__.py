"""A set of places to look at: frames, plans with the walk, query views, and questions with their answers drawn in.

    drawing.py    marks on pictures: arrows, points, dials, badges
    material.py   the pictures and the truth of one place, read from its folder
    questions.py  a card for each question, with its answer drawn in
    sheet.py      the sheet of one place: its pictures and cards
    page.py       the page of a whole set (HTML, in one file) and the sheets as images (PNG)

Answers are drawn from the question files, objects and cameras from ``gt/``: where both meet, they agree.
"""
