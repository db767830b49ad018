  end
  local one, two, three = u, v, w
  if kind == 'l' then
    one, two, three = v - z, math.max(now, u + second - w), v
  end
  reply[i * 3 + 2], reply[i * 3 + 3], reply[i * 3 + 4] = one, two, three
end
return reply
