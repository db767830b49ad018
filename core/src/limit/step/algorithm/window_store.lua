  if kind == 'w' or kind == 'a' then
    text = string.format('%.0f:%.0f:%.0f', u, v, now)
    ahead = u + second - now
  end
