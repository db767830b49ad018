  if kind == 'c' then
    local start = at - at % second
    if start > u[i] then
      v[i] = start < u[i] + 2 * second and w[i] or 0
      u[i], w[i] = start, 0
    end
    w[i] = w[i] + cost
  end
