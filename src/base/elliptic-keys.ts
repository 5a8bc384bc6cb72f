/** Key generation, which needs no library. */
import { createPrivateKey } from 'node:crypto'

/** Algorithm of generated keys. A provided certificate authority may use another one. */
export const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' }

export function generateKeys(crypto: Crypto) {
  return crypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify'])
}

/** As `EC PRIVATE KEY` in PEM, the format of kubeadm: some clients assume that a PKCS #8 key is an RSA key. */
export async function exportPrivateKey(crypto: Crypto, key: CryptoKey): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', key))
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'pem', type: 'sec1' })
}
