  if kind == 'c' then
    local current = now - now % second
    if u + 2 * second <= current then
      u, v, w = current, 0, 0
    elseif u + second <= current then
      u, v, w = current, w, 0
    else
      u = math.max(u, current)
    end
  end
