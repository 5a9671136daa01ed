/* tremolo_jni.c -- tremolo_phone.h for Java and Kotlin; Tremolo.java declares it. */
#include <jni.h>

#include "tremolo_phone.h"

JNIEXPORT jint JNICALL Java_Tremolo_enrol(JNIEnv *env, jclass class, jstring folder);
JNIEXPORT jbyteArray JNICALL Java_Tremolo_report(JNIEnv *env, jclass class, jstring folder,
                                                 jintArray values);
JNIEXPORT jlong JNICALL Java_Tremolo_epsilonLeft(JNIEnv *env, jclass class, jstring folder);

/* An exception with the status's name; the caller returns at once. */
static void refuse(JNIEnv *env, int32_t status)
{
    jclass kind = (*env)->FindClass(env, "java/lang/IllegalStateException");
    if (kind != NULL) {
        (void)(*env)->ThrowNew(env, kind, tremolo_phone_status_name(status));
    }
}

JNIEXPORT jint JNICALL Java_Tremolo_enrol(JNIEnv *env, jclass class, jstring folder)
{
    (void)class;
    const char *path = (*env)->GetStringUTFChars(env, folder, NULL);
    jint status = 0;
    if (path != NULL) {
        status = tremolo_phone_enrol(path);
        (*env)->ReleaseStringUTFChars(env, folder, path);
    }
    return status;
}

JNIEXPORT jbyteArray JNICALL Java_Tremolo_report(JNIEnv *env, jclass class, jstring folder,
                                                 jintArray values)
{
    (void)class;
    uint8_t bytes[TREMOLO_PHONE_REPORT_BYTES];
    jbyteArray report = NULL;
    const char *path = (*env)->GetStringUTFChars(env, folder, NULL);
    jint *numbers = path == NULL ? NULL : (*env)->GetIntArrayElements(env, values, NULL);
    if (numbers != NULL) {
        size_t count = (size_t)(*env)->GetArrayLength(env, values);
        int32_t length = tremolo_phone_report(path, bytes, sizeof bytes, numbers, count);
        (*env)->ReleaseIntArrayElements(env, values, numbers, JNI_ABORT);
        if (length < 0) {
            refuse(env, length);
        } else if ((report = (*env)->NewByteArray(env, length)) != NULL) {
            (*env)->SetByteArrayRegion(env, report, 0, length, (const jbyte *)bytes);
        }
    }
    if (path != NULL) {
        (*env)->ReleaseStringUTFChars(env, folder, path);
    }
    return report;
}

JNIEXPORT jlong JNICALL Java_Tremolo_epsilonLeft(JNIEnv *env, jclass class, jstring folder)
{
    (void)class;
    const char *path = (*env)->GetStringUTFChars(env, folder, NULL);
    jlong left = 0;
    if (path != NULL) {
        left = tremolo_phone_epsilon_left(path);
        (*env)->ReleaseStringUTFChars(env, folder, path);
    }
    if (left < 0) {
        refuse(env, (int32_t)left);
    }
    return left;
}
