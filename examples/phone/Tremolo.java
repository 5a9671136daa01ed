import java.io.IOException;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;

/** One private report from an Android app, or from any Java program. */
public final class Tremolo {
    static {
        System.loadLibrary("tremolo_phone");
    }

    private static final int LEDGER_EXISTS = -92;

    private Tremolo() {}

    /** 0, or minus a status; LEDGER_EXISTS from the second time on. */
    public static native int enrol(String folder);

    /** This study's report, the same bytes each time. Throws with the status's name. */
    public static native byte[] report(String folder, int[] values);

    /** What is left of the budget, in 2^-24 of epsilon. */
    public static native long epsilonLeft(String folder);

    /** Sends a report once. True: the server has it. False: try again later, with the same bytes. */
    public static boolean send(String study, byte[] report) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(study + "/reports").openConnection();
        connection.setRequestMethod("POST");
        connection.setRequestProperty("Content-Type", "application/cbor");
        connection.setConnectTimeout(20000);
        connection.setReadTimeout(20000);
        connection.setDoOutput(true);
        try (OutputStream body = connection.getOutputStream()) {
            body.write(report);
        }
        int status = connection.getResponseCode();
        if (status == 408 || status == 425 || status == 429 || status >= 500) {
            return false;
        }
        if (status != 200) {
            throw new IOException("the server does not take it: " + status);
        }
        return true;
    }

    /** Tremolo FOLDER STUDY VALUE...: what an app does in a background job. */
    public static void main(String[] arguments) throws IOException {
        int enrolled = enrol(arguments[0]);
        if (enrolled != 0 && enrolled != LEDGER_EXISTS) {
            throw new IllegalStateException("the ledger could not be made: " + enrolled);
        }
        int[] values = new int[arguments.length - 2];
        for (int i = 0; i < values.length; i++) {
            values[i] = Integer.parseInt(arguments[i + 2]);
        }
        byte[] report = report(arguments[0], values);
        System.out.println(send(arguments[1], report) + " " + report.length + " " + epsilonLeft(arguments[0]));
    }
}
