  if kind == 'c' then
    text = string.format('%.0f:%.0f:%.0f:%.0f', u, v, w, now)
    ahead = u + 2 * second - now
    if w == 0 and u <= now then
      ahead = v > 0 and u + second - now or 0
    end
  end
