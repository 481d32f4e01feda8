/** The version of this package. Its native part, its program and its guests are those of the same release. */
export const VERSION = "0.1.0";
