  if kind == 'c' then
    text = string.format('%.0f:%.0f:%.0f:%.0f', u, v, w, now)
    ahead = u + 2 * second - now
  end
