/** The nonce with which libraries may add style elements; empty where the page has no content security policy. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? ''
}
