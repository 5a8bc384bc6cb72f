/** Certificate requests created with OpenSSL, named after their subject. The private key was discarded. */

/** Encodes a request as in `spec.request`. */
function request(lines: readonly string[]): string {
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${lines.join('\n')}\n-----END CERTIFICATE REQUEST-----\n`
  return Buffer.from(pem).toString('base64')
}

/** `CN=jane`. */
export const jane = request([
  'MIHKMHECAQAwDzENMAsGA1UEAwwEamFuZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMTNWrzXDhja+XKp6X5tJZf+j+eXI4Jh',
  'JEObtqgs4IgHOLI1hkvhlXghljoPoUSuoRUiOprRKuSbIySmY2ajT+ugADAKBggqhkjOPQQDAgNJADBGAiEAkzYlhS1thqpqYaQQ',
  '2EyyQijnQPyR/Rfr6El7Wxq51Q4CIQCcEZSrgLBvUJhzD4l9lFgJTXHReMOyAUnv2SX5EBvKtg==',
])

/** `CN=jane, O=developers`. */
export const developer = request([
  'MIHeMIGGAgEAMCQxDTALBgNVBAMMBGphbmUxEzARBgNVBAoMCmRldmVsb3BlcnMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATE',
  'zVq81w4Y2vlyqel+bSWX/o/nlyOCYSRDm7aoLOCIBziyNYZL4ZV4IZY6D6FErqEVIjqa0SrkmyMkpmNmo0/roAAwCgYIKoZIzj0E',
  'AwIDRwAwRAIgdJuH99nw5+wtCvmqnQdcGmoBjQyXYQmfWhTKmUqy+AcCIDBvGtBJZJNt/OP9xcmdvsskfebv9YIN6GdqMFa7kwyf',
])

/** `CN=jane, O=system:masters`. */
export const administrator = request([
  'MIHjMIGKAgEAMCgxDTALBgNVBAMMBGphbmUxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD',
  'QgAExM1avNcOGNr5cqnpfm0ll/6P55cjgmEkQ5u2qCzgiAc4sjWGS+GVeCGWOg+hRK6hFSI6mtEq5JsjJKZjZqNP66AAMAoGCCqG',
  'SM49BAMCA0gAMEUCIGjxI2vQfqio22+pt+QnRIbBEnANHRaTCzrCgLjJC3e/AiEArVZcaIPo8Zezz91/7NvW4vVPLrk6jHeR2STX',
  'j5mR010=',
])

/** `CN=jane, O=developers, O=system:masters`. */
export const hiddenAdministrator = request([
  'MIH4MIGfAgEAMD0xDTALBgNVBAMMBGphbmUxEzARBgNVBAoMCmRldmVsb3BlcnMxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMFkw',
  'EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExM1avNcOGNr5cqnpfm0ll/6P55cjgmEkQ5u2qCzgiAc4sjWGS+GVeCGWOg+hRK6hFSI6',
  'mtEq5JsjJKZjZqNP66AAMAoGCCqGSM49BAMCA0gAMEUCIENWCWdildP/qTHtFq+K8GjfmQpMvOPki2BTEc/7qZ3RAiEAvT58Jixv',
  'sfdXAl2Vx6bpAnteBEPnWBLJhNnLy3ksHSk=',
])

/** `CN=system:node:mine, O=system:nodes`. */
export const nodeMine = request([
  'MIHuMIGUAgEAMDIxGTAXBgNVBAMMEHN5c3RlbTpub2RlOm1pbmUxFTATBgNVBAoMDHN5c3RlbTpub2RlczBZMBMGByqGSM49AgEG',
  'CCqGSM49AwEHA0IABMTNWrzXDhja+XKp6X5tJZf+j+eXI4JhJEObtqgs4IgHOLI1hkvhlXghljoPoUSuoRUiOprRKuSbIySmY2aj',
  'T+ugADAKBggqhkjOPQQDAgNJADBGAiEAj2cYo7ylGkQIw8DzznB3S3SIrfSPDOPYiK73rhcsvwcCIQCEcstcyLEH2S0Yh00L9xVK',
  'bIA1pIu8mx2YIBMz5CDkPw==',
])

/** `CN=system:node:other, O=system:nodes`. */
export const nodeOther = request([
  'MIHuMIGVAgEAMDMxGjAYBgNVBAMMEXN5c3RlbTpub2RlOm90aGVyMRUwEwYDVQQKDAxzeXN0ZW06bm9kZXMwWTATBgcqhkjOPQIB',
  'BggqhkjOPQMBBwNCAATEzVq81w4Y2vlyqel+bSWX/o/nlyOCYSRDm7aoLOCIBziyNYZL4ZV4IZY6D6FErqEVIjqa0SrkmyMkpmNm',
  'o0/roAAwCgYIKoZIzj0EAwIDSAAwRQIgY+6GjltfkG1T0QaNUMPt0wPecYaxHWHPqkNfxwf1AjECIQCq+OGYma0JGCEGHrgPP2qO',
  'mq6Un9cz2ZBhNIh6+pNfPA==',
])
