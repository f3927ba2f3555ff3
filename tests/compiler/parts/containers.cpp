// std::map, std::set, std::list, strings, hash tables and streams give what they give without hooks; trees stay balanced.
#include <cstdio>
#include <iostream>
#include <list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>

static unsigned state = 7;

static unsigned draw(unsigned most)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % most;
}

// Black nodes on each way down; -1: they differ, or a red node has a red child.
static int black(const std::_Rb_tree_node_base *x)
{
	if (!x)
		return 1;
	int left = black(x->_M_left), right = black(x->_M_right);
	for (auto *child : { x->_M_left, x->_M_right })
		if (child && (child->_M_parent != x || (x->_M_color == std::_S_red && child->_M_color == std::_S_red)))
			return -1;
	return left < 0 || left != right ? -1 : left + (x->_M_color == std::_S_black);
}

template <class Tree> static void check(const Tree &tree, const char *what)
{
	const auto *header = tree.end()._M_node;
	size_t forwards = 0, backwards = 0;
	for (auto i = tree.begin(); i != tree.end(); ++i)
		forwards++;
	for (auto i = tree.rbegin(); i != tree.rend(); ++i)
		backwards++;
	if (black(header->_M_parent) < 0 || forwards != tree.size() || backwards != tree.size())
		printf("%s: wrong after %u, %zu %zu of %zu\n", what, state, forwards, backwards, tree.size());
}

static void trees()
{
	for (unsigned range : { 3, 40, 1000 }) {
		std::map<unsigned, unsigned> map;
		std::multiset<unsigned> set;
		unsigned long sum = 0;
		for (unsigned i = 0; i < 3000; i++) {
			unsigned key = draw(range);
			if (draw(range > 40 ? 3 : 2)) {
				map[key] += i;
				set.insert(key);
			} else {
				map.erase(key);
				auto found = set.find(key);
				if (found != set.end())
					set.erase(found);
			}
			if (i % (range / 3) == 0) {
				check(map, "map");
				check(set, "set");
			}
			auto after = map.lower_bound(draw(range));
			sum = sum * 31 + (after == map.end() ? 1 : after->second);
			if (after != map.begin())
				sum += (--after)->first;
		}
		printf("%u: %zu %zu %lu %u\n", range, map.size(), set.size(), sum,
		       map.empty() ? 0 : map.rbegin()->first);
		while (!map.empty())
			map.erase(draw(2) ? map.begin() : std::prev(map.end()));
		check(map, "empty map");
		printf("%d\n", map.begin() == map.end());
	}
}

static void print(const char *name, const std::list<int> &list)
{
	printf("%s:", name);
	for (int i : list)
		printf(" %d", i);
	printf(" back:");
	for (auto i = list.rbegin(); i != list.rend(); ++i)
		printf(" %d", *i);
	printf("\n");
}

static void lists()
{
	std::list<int> a = { 5, 1, 4 }, b, c = { 9, 8 };
	a.swap(b);
	print("a", a), print("b", b);
	b.swap(c);
	print("b", b), print("c", c);
	a.swap(a);
	c.splice(c.begin(), b, std::next(b.begin()));
	c.splice(std::next(c.begin()), c, std::prev(c.end()));
	c.reverse();
	print("b", b), print("c", c);
	c.sort();
	c.merge(b);
	print("b", b), print("c", c);
	b.splice(b.end(), c);
	b.remove_if([](int i) { return i % 2; });
	b.reverse();
	c.reverse();
	print("b", b), print("c", c);
}

static void texts()
{
	std::string text = "short", copy;
	for (unsigned i = 0; i < 40; i++) {
		text.insert(draw((unsigned)text.size()), i % 3, (char)('a' + i % 26));
		text.replace(draw((unsigned)text.size()), 2, "<>");
		copy = text + copy.substr(0, draw(9));
		text += copy[0];
		text.erase(text.find_last_of("<", 1) + 1, 1);
		copy.resize(30, '.');
	}
	printf("%s %s %d %zu\n", text.c_str(), copy.c_str(), text.compare(copy) > 0, text.rfind("<>"));
	std::unordered_map<std::string, int> words;
	std::unordered_set<unsigned> numbers;
	for (unsigned i = 0; i < 3000; i++) {
		words["word" + std::to_string(draw(500))]++;
		numbers.insert(draw(2000));
	}
	printf("%zu %zu %zu %d\n", words.size(), numbers.size(), numbers.bucket_count(), words["word7"]);
}

static void streams()
{
	std::ostringstream out;
	std::string large(3000, 'x');
	const char *nothing = nullptr;
	out << "text " << std::string("string ") << 12 << ' ' << 2.5;
	out.write("written", 4);
	std::cout << out.str() << "|" << large.size() << std::endl;
	std::cout << large << "\n"
		  << std::string() << ""
		  << "\n";
	out << nothing << "not";
	printf("%d %zu\n", out.bad(), out.str().size());
	std::ostream none(nullptr);
	none.exceptions(std::ios::badbit | std::ios::failbit); // throws at once: it has no buffer
}

int main()
{
	std::ios::sync_with_stdio(true);
	trees();
	lists();
	texts();
	try {
		streams();
	} catch (const std::exception &) {
		printf("thrown\n");
	}
	std::ostringstream full;
	full.exceptions(std::ios::badbit);
	try {
		full.setstate(std::ios::badbit);
	} catch (const std::exception &) {
		printf("thrown\n");
	}
	try {
		full << "more";
	} catch (const std::exception &) {
		printf("thrown again\n");
	}
	return 0;
}
