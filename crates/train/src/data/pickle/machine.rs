//! The stack machine: instructions in, objects out.

use std::borrow::Cow;
use std::collections::HashMap;

use super::object::{Global, Object, build, reduce, short};
use crate::data::Mismatch;

/// One instruction makes at most one object, so this bounds the memory whatever the file says; a
/// batch with all 1,281,167 labels of ImageNet needs a tenth of it.
const MAX_STEPS: usize = 1 << 24;

/// The state of a run.
pub(super) struct Machine<'a> {
    rest: &'a [u8],
    objects: Vec<Object<'a>>,
    stack: Vec<usize>,
    marks: Vec<usize>,
    memo: HashMap<u32, usize>,
}

fn truncated() -> Mismatch {
    Mismatch::new("a complete pickle", "a file that breaks off")
}

fn underflow() -> Mismatch {
    Mismatch::new("a well-formed pickle", "an instruction without its operands")
}

impl<'a> Machine<'a> {
    /// Ready to run these bytes.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, objects: Vec::new(), stack: Vec::new(), marks: Vec::new(), memo: HashMap::new() }
    }

    /// Runs to the end: all objects, and the place of the result.
    pub(super) fn run(mut self) -> Result<(Vec<Object<'a>>, usize), Mismatch> {
        match self.rest {
            [0x80, 2..=5, ..] => {}
            [0x80, protocol, ..] => {
                return Err(Mismatch::new("a pickle of protocol 2 to 5", format!("protocol {protocol}")));
            }
            _ => return Err(Mismatch::new("a pickle of protocol 2 to 5", "other bytes")),
        }
        for _ in 0..MAX_STEPS {
            let [code] = self.take()?;
            if code == b'.' {
                let top = self.pop()?;
                return if self.rest.is_empty() {
                    Ok((self.objects, top))
                } else {
                    Err(Mismatch::new(
                        "the end of the file after the pickle",
                        format!("{} more bytes", self.rest.len()),
                    ))
                };
            }
            self.step(code)?;
        }
        Err(Mismatch::new("a pickle of at most 16 million instructions", "a longer one"))
    }

    fn step(&mut self, code: u8) -> Result<(), Mismatch> {
        match code {
            // PROTO and FRAME: nothing to do.
            0x80 => self.take::<1>().map(drop),
            0x95 => self.take::<8>().map(drop),
            b'N' => self.push(Object::None),
            0x88 => self.push(Object::Bool(true)),
            0x89 => self.push(Object::Bool(false)),
            b'J' | b'K' | b'M' | 0x8a => self.integer(code),
            b'X' | 0x8c | 0x8d => self.text(code),
            b'B' | b'C' | 0x8e | 0x96 | b'T' | b'U' => self.bytes(code),
            b']' => self.push(Object::List(Vec::new())),
            b'}' => self.push(Object::Dict(Vec::new())),
            b')' => self.push(Object::Tuple(Vec::new())),
            0x85..=0x87 => {
                let items = self.pop_many(usize::from(code - 0x84))?;
                self.push(Object::Tuple(items))
            }
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b't' => {
                let items = self.pop_to_mark()?;
                self.push(Object::Tuple(items))
            }
            b'a' | b'e' | b's' | b'u' => self.fill(code),
            b'q' | b'r' | 0x94 | b'h' | b'j' => self.memoise(code),
            b'c' | 0x93 => self.global(code),
            b'R' => {
                let (arguments, callable) = (self.pop()?, self.pop()?);
                let value = reduce(&mut self.objects, callable, arguments)?;
                self.push(value)
            }
            b'b' => {
                let state = self.pop()?;
                let &target = self.stack.last().ok_or_else(underflow)?;
                build(&mut self.objects, target, state)
            }
            _ => Err(Mismatch::new(
                "the pickle of a dict of arrays and integers",
                format!("the instruction 0x{code:02x}, which such a pickle does not need"),
            )),
        }
    }

    fn integer(&mut self, code: u8) -> Result<(), Mismatch> {
        let value = match code {
            b'J' => i32::from_le_bytes(self.take()?).into(),
            b'K' => i64::from(self.take::<1>()?[0]),
            b'M' => u16::from_le_bytes(self.take()?).into(),
            _ => {
                let [length] = self.take()?;
                long(self.slice(length.into())?)?
            }
        };
        self.push(Object::Int(value))
    }

    fn text(&mut self, code: u8) -> Result<(), Mismatch> {
        let raw = match code {
            0x8c => self.counted::<1>()?,
            b'X' => self.counted::<4>()?,
            _ => self.counted::<8>()?,
        };
        let text =
            str::from_utf8(raw).map_err(|_| Mismatch::new("UTF-8 text in the pickle", "other bytes"))?;
        self.push(Object::Text(Cow::Borrowed(text)))
    }

    fn bytes(&mut self, code: u8) -> Result<(), Mismatch> {
        let raw = match code {
            b'C' | b'U' => self.counted::<1>()?,
            b'B' | b'T' => self.counted::<4>()?,
            _ => self.counted::<8>()?,
        };
        self.push(Object::Bytes(Cow::Borrowed(raw)))
    }

    /// APPEND, APPENDS, SETITEM, SETITEMS.
    fn fill(&mut self, code: u8) -> Result<(), Mismatch> {
        let items = match code {
            b'a' => self.pop_many(1)?,
            b's' => self.pop_many(2)?,
            _ => self.pop_to_mark()?,
        };
        let target = self.stack.last().and_then(|&at| self.objects.get_mut(at));
        match (code, target) {
            (b'a' | b'e', Some(Object::List(list))) => list.extend(items),
            (b's' | b'u', Some(Object::Dict(dict))) => {
                let (pairs, odd) = items.as_chunks::<2>();
                if !odd.is_empty() {
                    return Err(underflow());
                }
                dict.extend(pairs.iter().map(|&[key, value]| (key, value)));
            }
            _ => return Err(Mismatch::new("a list or dict to fill", "another object")),
        }
        Ok(())
    }

    /// BINPUT, LONG_BINPUT, MEMOIZE; BINGET, LONG_BINGET.
    fn memoise(&mut self, code: u8) -> Result<(), Mismatch> {
        let key = match code {
            b'q' | b'h' => u32::from(self.take::<1>()?[0]),
            b'r' | b'j' => u32::from_le_bytes(self.take()?),
            _ => self.memo.len() as u32,
        };
        if matches!(code, b'h' | b'j') {
            let &at = self.memo.get(&key).ok_or_else(underflow)?;
            self.stack.push(at);
        } else {
            let &top = self.stack.last().ok_or_else(underflow)?;
            self.memo.insert(key, top);
        }
        Ok(())
    }

    /// GLOBAL has module and name in the file, on a line each; STACK_GLOBAL finds them on the
    /// stack.
    fn global(&mut self, code: u8) -> Result<(), Mismatch> {
        let global = if code == b'c' {
            let (module, name) = (self.line()?, self.line()?);
            Global::named(module, name)?
        } else {
            let (name, module) = (self.pop()?, self.pop()?);
            let text = |at: usize| self.objects.get(at).and_then(Object::as_text).ok_or_else(underflow);
            Global::named(text(module)?, text(name)?)?
        };
        self.push(Object::Global(global))
    }

    fn line(&mut self) -> Result<&'a str, Mismatch> {
        let end = self.rest.iter().take(4096).position(|&b| b == b'\n').ok_or_else(truncated)?;
        let line = self.slice(end)?;
        self.take::<1>()?;
        str::from_utf8(line).map_err(|_| {
            Mismatch::new("a global's name", format!("{:?}", short(&String::from_utf8_lossy(line))))
        })
    }

    /// A slice preceded by its little-endian length of `N` bytes.
    fn counted<const N: usize>(&mut self) -> Result<&'a [u8], Mismatch> {
        let mut wide = [0; 8];
        wide[..N].copy_from_slice(&self.take::<N>()?);
        self.slice(usize::try_from(u64::from_le_bytes(wide)).map_err(|_| truncated())?)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], Mismatch> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(head)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Mismatch> {
        let (head, rest) = self.rest.split_first_chunk().ok_or_else(truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    fn push(&mut self, object: Object<'a>) -> Result<(), Mismatch> {
        self.stack.push(self.objects.len());
        self.objects.push(object);
        Ok(())
    }

    /// Operands below the last mark belong to an outer collection.
    fn pop_many(&mut self, count: usize) -> Result<Vec<usize>, Mismatch> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let start =
            self.stack.len().checked_sub(count).filter(|&start| start >= floor).ok_or_else(underflow)?;
        // Not `split_off`, which may hand over the whole stack's capacity with a single item.
        Ok(self.stack.drain(start..).collect())
    }

    fn pop(&mut self) -> Result<usize, Mismatch> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(underflow());
        }
        self.stack.pop().ok_or_else(underflow)
    }

    fn pop_to_mark(&mut self) -> Result<Vec<usize>, Mismatch> {
        let mark = self.marks.pop().ok_or_else(underflow)?;
        if mark > self.stack.len() {
            return Err(underflow());
        }
        Ok(self.stack.drain(mark..).collect())
    }
}

/// LONG1: two's complement, little-endian, of any length; those that fit are enough.
fn long(bytes: &[u8]) -> Result<i64, Mismatch> {
    if bytes.len() > 8 {
        return Err(Mismatch::new("an integer of 64 bits", format!("one of {} bytes", bytes.len())));
    }
    let negative = bytes.last().is_some_and(|&b| b >= 0x80);
    let mut wide = if negative { [0xff; 8] } else { [0; 8] };
    wide[..bytes.len()].copy_from_slice(bytes);
    Ok(i64::from_le_bytes(wide))
}
