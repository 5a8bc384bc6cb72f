import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { GrpcTls } from '#/platform/grpc.ts'

export interface Certificates {
  /** Paths of PEM files. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string }
  /** TLS settings for a client. */
  readonly client: GrpcTls
}

/** Creates a certificate authority with one certificate for 127.0.0.1, valid for both servers and clients. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const at = (name: string): string => join(folder, name)
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const authority = ['-x509', '-subj', '/CN=test authority', '-keyout', at('ca.key'), '-out', at('ca.crt')]
  await openssl(['req', ...newKey, ...authority, '-days', '1'])
  const request = ['-subj', '/CN=test', '-keyout', at('member.key'), '-out', at('member.csr')]
  await openssl(['req', ...newKey, ...request])
  await writeFile(at('names'), 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n')
  const signing = ['-CA', at('ca.crt'), '-CAkey', at('ca.key'), '-CAcreateserial', '-extfile', at('names')]
  await openssl(['x509', '-req', '-in', at('member.csr'), ...signing, '-out', at('member.crt'), '-days', '1'])
  const files = { ca: at('ca.crt'), cert: at('member.crt'), key: at('member.key') }
  const [ca, cert, key] = await Promise.all([readFile(files.ca), readFile(files.cert), readFile(files.key)])
  return { files, client: { ca, cert, key } }
}

async function openssl(command: readonly string[]): Promise<void> {
  await promisify(execFile)('openssl', command)
}
