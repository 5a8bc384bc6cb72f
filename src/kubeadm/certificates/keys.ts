/** Key generation, which needs no library. */

/** Algorithm of generated keys. A provided certificate authority may use another one. */
export const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' }

export function generateKeys(crypto: Crypto) {
  return crypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify'])
}

/** As PEM. */
export async function exportPrivateKey(crypto: Crypto, key: CryptoKey): Promise<string> {
  const base64 = Buffer.from(await crypto.subtle.exportKey('pkcs8', key)).toString('base64')
  const lines = base64.replaceAll(/.{1,64}/g, '$&\n')
  return `-----BEGIN PRIVATE KEY-----\n${lines}-----END PRIVATE KEY-----\n`
}
