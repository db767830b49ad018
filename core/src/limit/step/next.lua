for i = 1, count do
  local key, kind = KEYS[i], ARGV[i * 6 - 3]
  local first, second = tonumber(ARGV[i * 6 - 2]), tonumber(ARGV[i * 6 - 1])
  if held then
    u, v, w, x, y, z, b, moved = unpack(held[i])
  end
