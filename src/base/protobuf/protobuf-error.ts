/**
 * Bytes that are not the message they should be, or a value that no message can hold. The text names the
 * field.
 */
export class ProtobufError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProtobufError'
  }

  /** The same complaint, seen from the message around it. */
  within(field: string): ProtobufError {
    return new ProtobufError(`${field}: ${this.message}`, { cause: this })
  }
}
