  if kind == 'w' or kind == 'a' then
    local text = string.format('%.0f:%.0f:%.0f', u, v, now)
    redis.call('SET', key, text, 'PX', string.format('%.0f', math.ceil((u + second - now) / 1000) + 1))
  end
