  if kind == 'g' and u < now then
    u, v = now, 0
  end
