# made_data.sh -- made-up data in the shape of the files that `tremolo reproduce` reads.

# made_modechoice: 300 rows; the cost in gc follows from invc and invt.
made_modechoice() {
    awk 'BEGIN { srand(3); print "individual;mode;choice;ttme;invc;invt;gc;hinc;psize"
    for (i = 0; i < 300; i++) {
        invc = rand() * 100; invt = rand() * 500
        printf "%d;%d;%d;%.2f;%.2f;%.2f;%.2f;%.2f;%d\n", i, 1 + rand() * 4, rand() * 2,
            rand() * 60, invc, invt, invc + invt / 5 + rand(), rand() * 70, 1 + rand() * 4
    } }'
}
