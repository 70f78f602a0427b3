/* signature_test.c - keys and signatures there and back, a signature of minisign's own, and damage to each. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "signature/signature.h"
#include "tutti_check.h"

#include <stdlib.h>
#include <string.h>

/* Made by minisign 0.11 for this test, of the text "a plugin\n". */
static const char public_text[] = "untrusted comment: minisign public key 862A7C71AA34A7D7\n"
                                  "RWTXpzSqcXwqhuX9xWHZQJmSqmKR3sZs0I1WDseSQ2HC9VJxBAdnZ6I3\n";
static const char signature_text[] = "untrusted comment: signature from minisign secret key\n"
                                     "RUTXpzSqcXwqhnNqnhpuPKjQmj4YRGnvp+gMEExuc1VX/ZiXoxaTR6A/"
                                     "FbyyjtN/I6IPpExTfF0ZYVYRj0KkRABGmDj/G5qlYg0=\n"
                                     "trusted comment: version 1\n"
                                     "NpvzBuIW5Ata02FCzOAqUV2CuBHaDqNUBt4mZrw+"
                                     "HzwQQs6yjzk66lN13v1/SLvgd+bT1G/cr/AYeDDHHv0/Cg==\n";
static const char encrypted_text[] =
    "untrusted comment: minisign encrypted secret key\n"
    "RWRTY0IygOnsgNNqKN7M6trrxGY1NrNtPCUTb6iGcKTC+btwbe4AACAAAAAAAAAAAAQAAAAA+jz/"
    "UASn196fnpCj5R1bKcp6881tDytK6Ab5ZJ59DVdBbRtbm7d8P69i5jNHZDwxclBgv5rAtsXJ33b+"
    "EfWrPQTstg7PDi83EVbvkkH24qpDqytOpnsP7Kw6w2ovvVDC6NoPux05n5Y=\n";
static const char message[] = "a plugin\n";

static tutti_status verify(const char *text, const char *data, tutti_error *err)
{
    static signature s;
    public_key k;
    tutti_status status = public_key_read("key.pub", public_text, &k, err);
    if (!status)
        status = signature_read("a.minisig", text, &s, err);
    return status ? status : signature_verify("a.minisig", &s, &k, data, strlen(data), err);
}

START_TEST(a_signature_of_minisign_is_verified)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(verify(signature_text, message, &err), err);
    ck_assert_int_eq(verify(signature_text, "another plugin\n", &err), TUTTI_E_TRUST);
    ck_assert_str_eq(err.text,
                     "a.minisig: not the signature of key 862A7C71AA34A7D7 for what it "
                     "is said to sign");
}
END_TEST

START_TEST(a_changed_comment_is_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char *text = strdup(signature_text);
    char *at = strstr(text, "version 1");
    ck_assert_ptr_nonnull(at);
    at[8] = '2';
    ck_assert_int_eq(verify(text, message, &err), TUTTI_E_TRUST);
    ck_assert_str_eq(
        err.text, "a.minisig: its trusted comment is not what key 862A7C71AA34A7D7 has signed");
    free(text);
}
END_TEST

START_TEST(every_cut_of_a_signature_is_refused)
{
    char *text = strdup(signature_text);
    for (size_t n = strlen(text) - 2; n-- > 0;) { /* the last line may lack its end */
        tutti_error err = TUTTI_ERROR_INIT;
        text[n] = '\0';
        ck_assert_int_eq(verify(text, message, &err), TUTTI_E_FORMAT);
        ck_assert_str_eq(err.text, "a.minisig: want a signature of minisign");
    }
    free(text);
}
END_TEST

START_TEST(what_is_signed_here_is_verified_here)
{
    tutti_error err = TUTTI_ERROR_INIT;
    static signature s;
    secret_key k, again;
    public_key p, q;
    char *text = NULL, *secret = NULL, *public = NULL;
    ck_assert_ok(secret_key_make(&k, &p, &err), err);
    ck_assert_ok(secret_key_write(&k, NULL, &secret, &err), err);
    ck_assert(!secret_key_is_encrypted(secret));
    ck_assert_ok(secret_key_read("key", secret, NULL, &again, &err), err);
    ck_assert_int_eq(memcmp(&k, &again, sizeof k), 0);
    ck_assert_ok(public_key_write(&p, &public, &err), err);
    ck_assert_ok(public_key_read("key.pub", public, &q, &err), err);
    ck_assert_int_eq(memcmp(&p, &q, sizeof p), 0);
    ck_assert_ok(signature_make(&again, message, strlen(message), "version 3", &text, &err),
                 err);
    ck_assert_ok(signature_read("a.minisig", text, &s, &err), err);
    ck_assert_str_eq(s.comment, "version 3");
    ck_assert_ok(signature_verify("a.minisig", &s, &q, message, strlen(message), &err), err);
    ck_assert_int_eq(verify(text, message, &err), TUTTI_E_TRUST);
    ck_assert_str_eq(err.text, "a.minisig: not made by key 862A7C71AA34A7D7");
    free(text);
    free(secret);
    free(public);
}
END_TEST

START_TEST(an_encrypted_key_of_minisign_opens_with_its_password)
{
    tutti_error err = TUTTI_ERROR_INIT;
    secret_key k;
    public_key p;
    ck_assert(secret_key_is_encrypted(encrypted_text));
    ck_assert_ok(secret_key_read("key", encrypted_text, "opensesame", &k, &err), err);
    ck_assert_ok(public_key_read("key.pub", public_text, &p, &err), err);
    ck_assert_int_eq(memcmp(k.key + 32, p.key, sizeof p.key), 0);
    ck_assert_int_eq(memcmp(k.id, p.id, sizeof p.id), 0);
    ck_assert_int_eq(secret_key_read("key", encrypted_text, "sesame", &k, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text, "key: that is not its password");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(secret_key_read("key", encrypted_text, NULL, &k, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text, "key: the key wants a password");
}
END_TEST

int main(void)
{
    if (!signature_is_available()) {
        (void)printf("skipped: this build has no libsodium\n");
        return 77;
    }
    Suite *suite = suite_create("signature");
    TCase *t = tcase_create("signature");
    tcase_add_test(t, a_signature_of_minisign_is_verified);
    tcase_add_test(t, a_changed_comment_is_refused);
    tcase_add_test(t, every_cut_of_a_signature_is_refused);
    tcase_add_test(t, what_is_signed_here_is_verified_here);
    tcase_add_test(t, an_encrypted_key_of_minisign_opens_with_its_password);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
