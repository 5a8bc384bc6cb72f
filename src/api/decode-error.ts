/**
 * Why bytes did not become a value. Everything that reads JSON or YAML, or checks a value against a schema,
 * throws this and nothing else; the API server turns it into a 400 or a 413. Match on `reason`, never on the
 * message.
 */
export class DecodeError extends Error {
  readonly reason: DecodeErrorReason

  constructor(reason: DecodeErrorReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DecodeError'
    this.reason = reason
  }
}

export type DecodeErrorReason =
  /** The text is not JSON or not YAML, or holds something that JSON cannot express. */
  | 'syntax'
  /** More bytes, tokens or expanded aliases than allowed. */
  | 'too-large'
  | 'too-deep'
  /** A value is not of the type that the schema gives its field. */
  | 'type'
