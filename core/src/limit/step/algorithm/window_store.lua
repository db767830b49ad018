  if kind == 'w' or kind == 'a' then
    local text = string.format('%.0f:%.0f:%.0f', u[i], v[i], now)
    redis.call('SET', key, text, 'PX', string.format('%.0f', math.ceil((u[i] + second - now) / 1000) + 1))
  end
