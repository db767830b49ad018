  if kind == 'w' or kind == 'a' then
    text = string.format('%.0f:%.0f:%.0f', u, v, now)
    ahead = v > 0 and u + second - now or 0
  end
