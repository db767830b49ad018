  end
  local one, two, three = u, v, w
  if kind == 'l' then
    one, two, three = v - z, math.max(now, u + second - w), v
  end
  reply[i * 3 + 2], reply[i * 3 + 3], reply[i * 3 + 4] = one, two, three
  if granted and at > now then
    local behind = (count + i) * 3
    reply[behind + 2], reply[behind + 3], reply[behind + 4] = before_u, before_v, before_w
  end
end
return reply
