// What libjpeg-turbo says of its version: that of the library whose interface it has.
#define JVERSION "6b  27-Mar-1998"
#define JCOPYRIGHT "Copyright (C) 1991-2023 The libjpeg-turbo Project and many others"
#define JCOPYRIGHT_SHORT JCOPYRIGHT
