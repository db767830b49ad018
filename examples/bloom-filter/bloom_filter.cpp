// Names that are taken: only for those that the filter may contain, a data base would be asked.
#include <dlock.hpp>

#include <cstdlib>
#include <iostream>

int main() {
    const char* url = std::getenv("REDIS_URL");
    if (url == nullptr) url = "redis://127.0.0.1:6379";
    const dlock::client client{url};
    std::cout << std::boolalpha;

    dlock::bloom_filter taken{client, "example-names", 1'000, 0.01};
    taken.clear();
    std::cout << taken.size() << " bits, " << taken.hashes() << " of them for each name\n";
    const auto added = taken.add({"ada", "grace", "ada"});
    std::cout << "new: " << added[0] << " " << added[1] << " " << added[2] << "\n";
    const auto found = taken.contains({"grace", "linus"});
    std::cout << "taken: " << found[0] << " " << found[1] << "\n";
    std::cout << "about " << taken.count() << " names\n";

    const dlock::bloom_filter other{client, "example-names", 2'000, 0.01};
    try {
        std::cout << other.contains("ada") << "\n";
    } catch (const dlock::wrong_type&) {
        std::cout << "another size is refused\n";
    }
}
