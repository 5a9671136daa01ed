/* linear.c -- dense operations over LAPACK; see linear.h. */
#include "linear.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

static void use_one_thread(void)
{
    openblas_set_num_threads(1);
}

/* OpenBLAS keeps its thread count per process, so one call is enough; nobody goes on
 * before it was made. */
double *linear_new(size_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, use_one_thread);
    return calloc(count > 0 ? count : 1, sizeof(double));
}

bool linear_cholesky(double *A, size_t n)
{
    lapack_int size = (lapack_int)n;
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', size, A, size) == 0;
}

void linear_cholesky_solve(double *X, const double *factor, size_t n, size_t columns)
{
    lapack_int size = (lapack_int)n;
    (void)LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', size, (lapack_int)columns, factor, size, X,
                              size);
}

double linear_cholesky_logdet(const double *factor, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += log(factor[i * n + i]);
    }
    return 2.0 * sum;
}

bool linear_eigen(double *values, double *A, size_t n)
{
    lapack_int size = (lapack_int)n;
    return LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', size, A, size, values) == 0;
}

void linear_multiply(double *C, const double *A, const double *B, size_t n, bool transposed)
{
    int size = (int)n;
    cblas_dgemm(CblasColMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, size, size,
                size, 1.0, A, size, B, size, 0.0, C, size);
}

enum tremolo_status linear_sandwich(double *C, const double *A, const double *B, size_t n)
{
    double *half = linear_new(n * n);
    if (half == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    linear_multiply(half, B, A, n, false);
    linear_multiply(C, A, half, n, false);
    free(half);
    return TREMOLO_OK;
}

enum tremolo_status linear_inverse(double *A, size_t n)
{
    enum tremolo_status status = TREMOLO_OK;
    double *vectors = linear_new(n * n);
    double *values = linear_new(n);
    if (vectors == NULL || values == NULL) {
        status = TREMOLO_NO_MEMORY;
        goto done;
    }
    memcpy(vectors, A, n * n * sizeof *A);
    if (!linear_eigen(values, vectors, n)) {
        status = TREMOLO_NOT_CONVERGED;
        goto done;
    }
    double largest = fmax(fabs(values[0]), fabs(values[n - 1]));
    for (size_t k = 0; k < n; k++) {
        if (!(fabs(values[k]) > (double)n * DBL_EPSILON * largest)) {
            status = TREMOLO_SINGULAR;
            goto done;
        }
    }
    memset(A, 0, n * n * sizeof *A);
    for (size_t k = 0; k < n; k++) {
        cblas_dger(CblasColMajor, (int)n, (int)n, 1.0 / values[k], vectors + k * n, 1,
                   vectors + k * n, 1, A, (int)n);
    }
done:
    free(vectors);
    free(values);
    return status;
}

double linear_dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

void linear_apply(double *y, const double *A, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = linear_dot(A + i * n, x, n);
    }
}

double linear_form(const double *a, const double *A, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * linear_dot(A + i * n, b, n);
    }
    return sum;
}
