  end
  local one, two, three = u[i], v[i], w[i] or 0
  if kind == 'l' then
    one, two, three = v[i] - z[i], math.max(now, u[i] + second - w[i]), v[i]
  end
  reply[i * 3 + 2], reply[i * 3 + 3], reply[i * 3 + 4] = one, two, three
end
return reply
