  local write = moved and cost > 0
  if granted and cost > 0 then
    write = true
