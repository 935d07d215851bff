/* A PKCS #11 module that passes everything on to SoftHSM, but for what the file `mood` tells it to do, which SoftHSM never does of itself. Each login
   puts a letter into the file `logins`. Both are in the directory that HUSHDB_TEST_TOKENS names. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long word;
typedef word (*function)(void);

/* CK_FUNCTION_LIST of version 2.40, by places. */
struct functions {
    unsigned char version[2];
    function at[68];
};
enum { FUNCTION_LIST = 3, TOKEN_INFO = 6, LOGIN = 18, ENCRYPT_INIT = 29, DECRYPT_INIT = 33, DECRYPT = 34 };

struct mechanism {
    word kind;
    void *parameter;
    word len;
};
struct gcm {
    void *iv;
    word iv_len, iv_bits;
    void *bound;
    word bound_len, tag_bits;
};

enum { FLAGS_AT = 96, FINAL_TRY = 0x20000, LOCKED = 0x40000, FUNCTION_FAILED = 6, DEVICE_REMOVED = 0x32 };

static struct functions *real, odd;

static FILE *file(const char *name, const char *how) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("HUSHDB_TEST_TOKENS"), name);
    return fopen(path, how);
}

static int is(const char *mood) {
    char said[64] = "";
    FILE *told = file("mood", "r");
    if (told) {
        said[fread(said, 1, sizeof said - 1, told)] = 0;
        fclose(told);
    }
    return strcmp(said, mood) == 0;
}

static word token_info(word slot, char *info) {
    word done = ((word (*)(word, char *))real->at[TOKEN_INFO])(slot, info), flags;
    memcpy(&flags, info + FLAGS_AT, sizeof flags);
    flags |= is("final try") ? FINAL_TRY : is("locked") ? LOCKED : 0;
    memcpy(info + FLAGS_AT, &flags, sizeof flags);
    return done;
}

static word login(word session, word user, char *pin, word len) {
    FILE *logins = file("logins", "a");
    if (logins) {
        fputc('x', logins);
        fclose(logins);
    }
    if (is("login fails"))
        return FUNCTION_FAILED;
    return ((word (*)(word, word, char *, word))real->at[LOGIN])(session, user, pin, len);
}

static word begin(int which, word session, struct mechanism *asked, word key) {
    struct mechanism mechanism = *asked;
    struct gcm gcm = *(struct gcm *)asked->parameter;
    if (is("binds nothing")) {
        gcm.bound = NULL;
        gcm.bound_len = 0;
    }
    mechanism.parameter = &gcm;
    return ((word (*)(word, struct mechanism *, word))real->at[which])(session, &mechanism, key);
}

static word encrypt_init(word session, struct mechanism *asked, word key) {
    return begin(ENCRYPT_INIT, session, asked, key);
}

static word decrypt_init(word session, struct mechanism *asked, word key) {
    return begin(DECRYPT_INIT, session, asked, key);
}

static word decrypt(word session, char *sealed, word len, char *opened, word *opened_len) {
    word done;
    if (is("removed"))
        return DEVICE_REMOVED;
    done = ((word (*)(word, char *, word, char *, word *))real->at[DECRYPT])(session, sealed, len, opened, opened_len);
    if (done == 0 && opened && is("opens another"))
        opened[0] ^= 1;
    return done;
}

word C_GetFunctionList(struct functions **list) {
    void *module = dlopen(MODULE, RTLD_NOW);
    word (*get)(struct functions **) = module ? (word (*)(struct functions **))dlsym(module, "C_GetFunctionList") : NULL;
    if (!get || get(&real))
        return FUNCTION_FAILED;
    odd = *real;
    odd.at[FUNCTION_LIST] = (function)C_GetFunctionList;
    odd.at[TOKEN_INFO] = (function)token_info;
    odd.at[LOGIN] = (function)login;
    odd.at[ENCRYPT_INIT] = (function)encrypt_init;
    odd.at[DECRYPT_INIT] = (function)decrypt_init;
    odd.at[DECRYPT] = (function)decrypt;
    *list = &odd;
    return 0;
}
