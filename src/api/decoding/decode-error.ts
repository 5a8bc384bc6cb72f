/**
 * Thrown for every failure to parse JSON or YAML or to decode a value against a schema; the API server
 * returns it as 400 or 413. Match on `reason`, never on the message.
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
  /** The text is not valid JSON or YAML, or contains something that JSON cannot represent. */
  | 'syntax'
  /** Too many bytes, tokens or expanded aliases. */
  | 'too-large'
  | 'too-deep'
  /** A value does not have the type of its field in the schema. */
  | 'type'
