  if (kind == 'w' or kind == 'a') and u + second <= now then
    u, v = now, 0
    if kind == 'a' then
      u = now - now % second
    end
  end
