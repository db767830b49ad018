  b, moved = now + wait, true
  do
