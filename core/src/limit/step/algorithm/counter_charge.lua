  if kind == 'c' then
    local start = at - at % second
    if start > u then
      v = start < u + 2 * second and w or 0
      u, w = start, 0
    end
    w = w + cost
  end
