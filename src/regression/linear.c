/* linear.c -- dense operations over LAPACK; see linear.h.
 *
 * All matrices of this module go through these functions, so that storage (symmetric, in full),
 * thresholds of singularity and the number of threads are decided in one place. Where LAPACKE has a
 * variant that takes its work space, it is used: the others check their input for NaN each time. */
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

/* OpenBLAS keeps its thread count per process, so one call is enough; pthread_once()
 * makes other threads wait for it. */
double *linear_new(size_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, use_one_thread);
    return calloc(count > 0 ? count : 1, sizeof(double));
}

double *linear_new_arrays(const struct linear_array *arrays, size_t count)
{
    size_t size = 0;
    for (size_t k = 0; k < count; k++) {
        size += arrays[k].count + arrays[k].count % 2;
    }
    double *memory = linear_new(size);
    for (size_t k = 0, used = 0; memory != NULL && k < count; k++) {
        *arrays[k].at = memory + used;
        used += arrays[k].count + arrays[k].count % 2;
    }
    return memory;
}

void linear_block(double *to, const double *from, size_t d, size_t n)
{
    for (size_t i = 0; i < d; i++) {
        memcpy(to + i * d, from + i * n, d * sizeof *to);
    }
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

bool linear_positive_inverse(double *A, double *logdet, size_t n)
{
    lapack_int size = (lapack_int)n;
    if (!linear_cholesky(A, n)) {
        return false;
    }
    *logdet = 0.0;
    for (size_t i = 0; i < n; i++) {
        *logdet += 2.0 * log(A[i * n + i]);
    }
    if (LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', size, A, size) != 0) {
        return false;
    }
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < j; i++) {
            A[j * n + i] = A[i * n + j];
        }
    }
    return true;
}

bool linear_eigen(double *values, double *A, size_t n)
{
    lapack_int size = (lapack_int)n;
    return LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', size, A, size, values) == 0;
}

bool linear_eigenvalues(double *values, double *A, size_t n)
{
    lapack_int size = (lapack_int)n;
    return LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', size, A, size, values) == 0;
}

void linear_multiply(double *C, const double *A, const double *B, size_t n, bool transposed)
{
    int size = (int)n;
    cblas_dgemm(CblasColMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, size, size,
                size, 1.0, A, size, B, size, 0.0, C, size);
}

void linear_gram(double *C, double factor, const double *rows, size_t n, size_t count)
{
    cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, (int)n, (int)count, factor, rows, (int)n,
                1.0, C, (int)n);
}

enum tremolo_status linear_inverse(double *A, size_t n)
{
    enum tremolo_status status = TREMOLO_OK;
    double *vectors, *values;
    double *memory = LINEAR_NEW({&vectors, n * n}, {&values, n});
    if (memory == NULL) {
        return TREMOLO_NO_MEMORY;
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
    free(memory);
    return status;
}

enum tremolo_status linear_solve(double *x, double *A, size_t n)
{
    enum { BLOCK = 64 };
    lapack_int size = (lapack_int)n;
    double norm = LAPACKE_dlange_work(LAPACK_COL_MAJOR, '1', size, size, A, size, NULL);
    double rcond = 0.0;
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    double *work = linear_new((n + 2) * BLOCK);
    lapack_int *order = calloc(2 * n, sizeof *order);
    if (work == NULL || order == NULL) {
        goto done;
    }
    status = TREMOLO_SINGULAR;
    lapack_int *spare = order + n;
    bool factored =
        LAPACKE_dsytrf_work(LAPACK_COL_MAJOR, 'L', size, A, size, order, work, size * BLOCK) == 0;
    if (factored &&
        LAPACKE_dsycon_work(LAPACK_COL_MAJOR, 'L', size, A, size, order, norm, &rcond, work,
                            spare) == 0 &&
        rcond > (double)n * DBL_EPSILON) {
        (void)LAPACKE_dsytrs_work(LAPACK_COL_MAJOR, 'L', size, 1, A, size, order, x, size);
        status = TREMOLO_OK;
    }
done:
    free(work);
    free(order);
    return status;
}

double linear_dot(const double *a, const double *b, size_t n)
{
    return cblas_ddot((int)n, a, 1, b, 1);
}

void linear_add(double *y, double a, const double *x, size_t n)
{
    cblas_daxpy((int)n, a, x, 1, y, 1);
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
