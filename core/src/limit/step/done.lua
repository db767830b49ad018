  end
end
return 1
