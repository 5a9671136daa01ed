// One private report from an iOS app. CTremolo is the module of module.modulemap.
import CTremolo
import Foundation

enum TremoloError: Error {
    case refused(String)  // the status's name
}

struct Tremolo {
    private static let ledgerExists: Int32 = -92
    let folder: URL

    /// The folder is made, kept out of backups, and gets its ledger on the first start of the app, ever.
    init(folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        var place = folder
        try place.setResourceValues(values)
        let status = tremolo_phone_enrol(folder.path)
        if status != 0 && status != Tremolo.ledgerExists { throw Tremolo.refusal(status) }
    }

    /// This study's report, the same bytes each time.
    func report(_ values: [Int32]) throws -> Data {
        var bytes = [UInt8](repeating: 0, count: Int(TREMOLO_PHONE_REPORT_BYTES))
        let length = tremolo_phone_report(folder.path, &bytes, bytes.count, values, values.count)
        if length < 0 { throw Tremolo.refusal(length) }
        return Data(bytes.prefix(Int(length)))
    }

    /// The request to hand to a background URLSession until it is answered with 200.
    func request(study: URL, report: Data) -> URLRequest {
        var request = URLRequest(url: study.appendingPathComponent("reports"))
        request.httpMethod = "POST"
        request.setValue("application/cbor", forHTTPHeaderField: "Content-Type")
        request.httpBody = report
        return request
    }

    private static func refusal(_ status: Int32) -> TremoloError {
        .refused(String(cString: tremolo_phone_status_name(status)))
    }
}
