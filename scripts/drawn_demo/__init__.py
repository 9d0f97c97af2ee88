"""What ``make_drawn_demo.py`` draws with: furniture and homes, textures, the ray caster, the walk, plans, questions."""
