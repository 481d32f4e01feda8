// The data of ICU under the name that it looks for. They lie in the guest's image as they are used, so that nobody pays for what is
// not read.
#include <unicode/utypes.h>

_Alignas(16) const unsigned char U_ICUDATA_ENTRY_POINT[] = {
#embed <icu.dat>
};
